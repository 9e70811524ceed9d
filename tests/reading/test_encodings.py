"""Letters beyond ASCII in a file that is not UTF-8: one reading, or a question with the words under each."""

import pytest

from anonymizer.reading.files import ReadOptions, read_table

TEXTS = {
    "cp1250": "miasto,n\nŁódź,1\nKraków,2\nToruń,3\n",
    "cp1251": "город,n\nМосква,1\nКазань,2\n",
    "gb18030": "城市,n\n北京,1\n上海,2\n",
    "shift_jis": "都市,n\n東京,1\n大阪,2\n",
}


@pytest.mark.parametrize("encoding", list(TEXTS))
def test_other_encodings__are_asked_with_the_words_under_each(encoding: str) -> None:
    data = TEXTS[encoding].encode(encoding)
    reading = read_table(data)
    (question,) = reading.questions
    answers = {answer.label: answer for answer in question.answers}
    assert encoding in answers
    assert len(answers) > 1
    word = TEXTS[encoding].split("\n")[1].split(",")[0]
    assert word in [text for _, text in answers[encoding].sample]
    assert any(problem.level == "warning" and "encoding" in problem.text for problem in reading.problems)
    answered = read_table(data, options=answers[encoding].applied(reading.options))
    assert answered.frame.iloc[0, 0] == word
    assert not answered.questions


def test_polish__is_not_taken_for_western() -> None:
    assert read_table(TEXTS["cp1250"].encode("cp1250")).options.encoding == "cp1250"


def test_german__is_not_asked() -> None:
    reading = read_table("stadt,n\nKöln,1\nGroß Gerau,2\n".encode("cp1252"))
    assert reading.options.encoding == "cp1252"
    assert not reading.questions


def test_a_chosen_encoding__is_not_asked() -> None:
    assert not read_table(TEXTS["cp1251"].encode("cp1251"), options=ReadOptions(encoding="cp1251")).questions
