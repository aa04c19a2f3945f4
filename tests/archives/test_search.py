from archives.search import make_search_text, query_tokens


def _finds(query: str, name: str, archive_id: str = "main") -> bool:
    text = make_search_text(name, archive_id)
    return all(f" {token}" in text for token in query_tokens(query))


def test_two_chinese_characters_are_found_inside_a_longer_name():
    assert _finds("快报", "竞品快报 11-30.md")
    assert not _finds("快品", "竞品快报 11-30.md")


def test_one_chinese_character_is_found_even_at_the_end_of_a_name():
    assert _finds("报", "竞品快报")


def test_a_word_is_found_by_its_beginning_whatever_its_case():
    assert _finds("REP", "Weekly-report.md")
    assert not _finds("port", "weekly-report.md")


def test_parts_of_camel_case_and_numbers_after_words_are_found():
    assert _finds("report", "dailyReport2026.json")
    assert _finds("2026", "dailyReport2026.json")


def test_all_words_of_a_query_must_be_there():
    assert _finds("快报 11", "竞品快报 11-30.md")
    assert not _finds("快报 12", "竞品快报 11-30.md")


def test_an_archive_id_finds_its_files():
    assert _finds("8f3a2c", "prices.json", archive_id="8f3a2c")


def test_punctuation_alone_asks_for_nothing():
    assert query_tokens('"*') == []


def test_tokens_are_plain_ascii_and_begin_with_a_letter():
    for token in make_search_text("竞品 2026 émigré 📈.csv", "main").split():
        assert token.isascii() and token.isalnum() and token[0] == "x"
