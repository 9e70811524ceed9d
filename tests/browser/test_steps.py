"""What a walk knows of drawings that are due: from the messages alone, before the page knows of them."""

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.steps import Drawings


def test_a_click__is_due_until_its_drawing_ends() -> None:
    drawings, click = Drawings(), BackMsg()
    click.rerun_script.SetInParent()
    drawings.note_request(BackMsg(stop_script=True).SerializeToString())
    assert not drawings.due
    drawings.note_request(click.SerializeToString())
    assert drawings.due, "a busy server has not answered yet"
    begin, end = ForwardMsg(), ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY)
    begin.new_session.SetInParent()
    drawings.note_answer(begin.SerializeToString())
    assert drawings.due
    drawings.note_answer(ForwardMsg(script_finished=ForwardMsg.FINISHED_EARLY_FOR_RERUN).SerializeToString())
    assert drawings.due, "another drawing follows"
    drawings.note_answer(end.SerializeToString())
    assert not drawings.due
