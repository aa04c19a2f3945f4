"""PLAN.md texts as they are found in the wild, in both seeds' styles; CRLF and BOM are put on where a test wants them."""

SEED = """[Task_ID: 7f3c-01] 每日新闻摘要

• Role_Context: Mira (Aligned with SOUL.md & IDENTITY.md)
• Archive_Path: archives/7f3c/PLAN.md
• Status: Active
• Schedule: cron 0 9 * * * (Asia/Shanghai)

ORA Detail

• Objective: 省去人工翻阅，体现 SOUL.md 的克制
• Result: 每天一份 report.md
• Action_Steps:
  1. [读取本文件指令]：从路径 archives/7f3c/PLAN.md 中读取 Task_ID: 7f3c-01 的详细计划并按步骤执行。
  2. [上下文校验]：确认当前上下文已对齐 SOUL.md 与 IDENTITY.md。
  3. [执行动作]：根据读取到的详细步骤执行业务逻辑。
  4. [归档校验]：验证输出物已存入 archives/7f3c/{{TIMESTAMP}}/ 目录。
"""

CANONICAL = """### [Task_ID: 7f3c-01] 每日新闻摘要

- **Role_Context**: Mira (Aligned with SOUL.md & IDENTITY.md)
- **Archive_Path**: archives/7f3c/PLAN.md
- **Status**: Active
- **Schedule**: cron 0 9 * * * (Asia/Shanghai)

#### ORA Detail

- **Objective**: 省去人工翻阅，体现 SOUL.md 的克制
- **Result**: 每天一份 report.md
- **Action_Steps**:
  1. **[读取本文件指令]**：从路径 `archives/7f3c/PLAN.md` 中读取 `Task_ID: 7f3c-01` 的详细计划并按步骤执行。
  2. **[上下文校验]**：确认当前上下文已对齐 `SOUL.md` 与 `IDENTITY.md`。
  3. **[执行动作]**：根据读取到的详细步骤执行业务逻辑。
  4. **[归档校验]**：验证输出物已存入 `archives/7f3c/{TIMESTAMP}/` 目录。
"""

FULL_WIDTH = """# 【Task_ID：7f3c-01】每日新闻摘要
* **Status：** Active
* **Objective**：省去人工翻阅，
  体现 SOUL.md 的克制
* **Result**：每天一份 report.md
* **Action Steps**：
1、从路径 `archives/7f3c/PLAN.md` 中读取 `Task_ID: 7f3c-01` 的详细计划并按步骤执行
2、确认当前上下文已对齐 SOUL.md 与 IDENTITY.md。
   - 若未对齐：停止
3、根据读取到的详细步骤执行业务逻辑。
* **Owner**：王小明
* **Archive_Path**：`archives/7f3c/PLAN.md`
* **Role_Context**：Mira
* **Schedule**：every 2h
"""

NO_BRACKETS = """# Daily digest

Task_ID: 7f3c-01
Role_Context: Mira
Archive_Path: archives/7f3c/PLAN.md
Status: Active
Schedule: cron 0 9 * * MON-FRI (Europe/London)

## ORA Detail

Objective: nobody skims the news by hand any more
Result: report.md, every weekday
Action_Steps:
1. 从路径 archives/7f3c/PLAN.md 中读取 Task_ID: 7f3c-01 的详细计划并按步骤执行
2. Write report.md
"""


def three_entries() -> str:
    """A preamble and three plans of one archive."""
    parts = [
        CANONICAL.replace("7f3c-01", f"7f3c-0{n}").replace("每日新闻摘要", f"计划 {n}") for n in (1, 2, 3)
    ]
    return "# 计划\n\n说明：以下三项。\n\n" + "\n".join(parts)
