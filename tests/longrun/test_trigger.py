import pytest

from longrun.trigger import PASSWORDS, Trigger, find_trigger, says_continue

ENTER = "进入长任务模式"
MODE = "长任务模式"

OPENS = [
    ("进入长任务模式", ENTER, ""),
    ("长任务模式", MODE, ""),
    ("  进入长任务模式  ", ENTER, ""),
    ("\u3000长任务模式\u3000", MODE, ""),
    ("\ufeff进入长任务模式", ENTER, ""),
    ("请进入长任务模式", ENTER, ""),
    ("请 进入长任务模式。", ENTER, ""),
    ("请“进入长任务模式”", ENTER, ""),
    ("“请进入长任务模式”", ENTER, ""),
    ("进入长任务模式。", ENTER, ""),
    ("进入长任务模式！", ENTER, ""),
    ("进入长任务模式!!", ENTER, ""),
    ("进入长任务模式……", ENTER, ""),
    ("长任务模式~", MODE, ""),
    ("长任务模式：", MODE, ""),
    ("长任务模式，", MODE, ""),
    ("“长任务模式”", MODE, ""),
    ("'进入长任务模式'", ENTER, ""),
    ("「进入长任务模式」。", ENTER, ""),
    ("`长任务模式`", MODE, ""),
    ("**进入长任务模式**", ENTER, ""),
    ("进入长任务模式：整理三季度供应商合同", ENTER, "整理三季度供应商合同"),
    ("进入长任务模式:整理合同", ENTER, "整理合同"),
    ("进入长任务模式，把 318 份合同的到期日列成表", ENTER, "把 318 份合同的到期日列成表"),
    ("长任务模式, migrate the billing tables", MODE, "migrate the billing tables"),
    ("长任务模式 : rebuild the index", MODE, "rebuild the index"),
    ("请进入长任务模式：核对发票，不要跳过附件", ENTER, "核对发票，不要跳过附件"),
    ("进入长任务模式\n把日志按天归档", ENTER, "把日志按天归档"),
    ("进入长任务模式。\n\n1. 读合同\n2. 列表", ENTER, "1. 读合同\n2. 列表"),
    ("长任务模式：迁移数据库\n先备份", MODE, "迁移数据库\n先备份"),
    ("\n\n进入长任务模式\r\n跑完整个测试集", ENTER, "跑完整个测试集"),
    ("“进入长任务模式：整理合同”", ENTER, "整理合同"),
]

OPENS_NOTHING = [
    "",
    "   ",
    "继续",
    "继续。",
    "接着来",
    "往下做",
    "一直做，不停",
    "一直做",
    "持续推进",
    "不要停下来问",
    "keep going",
    "Keep going!",
    "continue",
    "go on until it is done",
    "do not stop to ask me",
    "什么是长任务模式？",
    "什么是长任务模式",
    "不要进入长任务模式",
    "请不要进入长任务模式。",
    "别进入长任务模式",
    "长任务模式怎么用",
    "长任务模式怎么用？",
    "长任务模式？",
    "进入长任务模式？",
    "进入长任务模式吗？",
    "进入长任务模式吧",
    "我要进入长任务模式",
    "现在进入长任务模式",
    "帮我进入长任务模式",
    "请请进入长任务模式",
    "麻烦进入长任务模式",
    "退出长任务模式",
    "关闭长任务模式",
    "已经进入长任务模式了吗",
    "长任务模式已开启",
    "长任务模式下怎么汇报进度",
    "长任务模式的规则是什么",
    "进入长任务模式 整理合同",
    "进入 长任务模式",
    "进入长任务",
    "长任务",
    "长时间任务模式",
    "长时间运行模式",
    "進入長任務模式",
    "进入短任务模式",
    "你好\n进入长任务模式",
    "先看看代码，然后进入长任务模式",
    "他说“进入长任务模式”是口令",
    "口令：进入长任务模式",
    "/长任务模式",
    "enter long-run mode",
    "enter long task mode: migrate the tables",
    "long run mode",
    "Long-running task mode, please",
    "long-run-mode",
    "start a long task",
    "please run this for as long as it takes",
    "What is 长任务模式?",
    "do not use 长任务模式",
    "jinru changrenwu moshi",
]


@pytest.mark.parametrize(("message", "password", "task"), OPENS)
def test_the_password_opens_the_mode_and_names_its_task(message, password, task):
    assert find_trigger(message) == Trigger(password, task)


@pytest.mark.parametrize("message", OPENS_NOTHING)
def test_every_other_sentence_opens_nothing(message):
    assert find_trigger(message) is None


def test_the_table_holds_at_least_sixty_different_sentences_and_only_two_passwords():
    sentences = {row[0] for row in OPENS} | set(OPENS_NOTHING)
    assert len(sentences) == len(OPENS) + len(OPENS_NOTHING) >= 60
    assert PASSWORDS == ("进入长任务模式", "长任务模式")


@pytest.mark.parametrize("message", ["继续", "继续。", " 接着来 ", "一直做，不停", "Keep going!", "“继续”"])
def test_a_plain_continue_is_recognised_as_one(message):
    assert says_continue(message)
    assert find_trigger(message) is None


@pytest.mark.parametrize("message", ["继续讨论别的事", "进入长任务模式", "stop"])
def test_other_sentences_are_no_continue(message):
    assert not says_continue(message)
