"""What whoever runs the dashboard may set: the options of ``copse app``, and environment variables."""

from typing import NamedTuple


class Choice(NamedTuple):
    """One thing that the operator may set.

    ``variable``: its environment variable. ``default``: what holds without it. ``words``: what it says. ``option``: of
    ``copse app``, where it has one.
    """

    variable: str
    default: str
    words: str
    option: str = ""


CHOICES = (
    Choice(
        "STREAMLIT_SERVER_ADDRESS",
        "127.0.0.1",
        "the address to listen to; for others' machines, a login is needed",
        "--address",
    ),
    Choice("STREAMLIT_SERVER_PORT", "8501", "the port to listen to", "--port"),
    Choice("COPSE_LOGIN", "no login", "the file that says who may enter, and how they sign in", "--login"),
    Choice("COPSE_CLIENT_SECRET", "from the file", "what the provider gave as the secret of this client"),
    Choice("COPSE_KEY_FILE", "one in the data folder of the user", "the file of the key of packing, 32 random bytes"),
    Choice(
        "COPSE_KEY_PASSWORD",
        "it is asked for",
        "the password of the key that signs packets, where commands run and nobody can be asked",
    ),
    Choice(
        "COPSE_OPERATOR_KEY",
        "made at each start, and shown on a terminal only",
        "the key of the operator's page where nobody signs in, of at least 16 characters",
    ),
    Choice(
        "COPSE_I_KNOW",
        "no",
        "others may open the dashboard without a login of Copse: something else asks who they are",
        "--i-know",
    ),
    Choice("COPSE_DATA_FOLDER", "none", "the full path of a folder on the server, of which files may be read"),
    Choice(
        "COPSE_RELEASE_FOLDER",
        "none",
        "the full path of a folder, apart from that one, in which releases of tables in pieces are written",
    ),
    Choice(
        "COPSE_LEDGER_FOLDER",
        "the user's own where nobody else can open the dashboard, else none",
        "the full path of the folder with the ledgers that may be opened and begun",
    ),
    Choice(
        "COPSE_DATABASES",
        "none",
        "addresses of databases, without passwords, to read, and where one ends with ?write=new for new tables",
    ),
    Choice(
        "COPSE_READ_MEMORY",
        "64 × the file, from 1024 to half of the machine's",
        "MiB of memory that the reading of one file, or the work on a table in pieces, may take",
    ),
    Choice("COPSE_READ_SECONDS", "2 a MiB of the file, at least 10", "seconds of processor time that this may take"),
    Choice("COPSE_READ_CELLS", "1000000000", "rows times columns of one file, or of a table in pieces"),
    Choice("COPSE_SESSIONS", "40", "sessions that may be open at once; who comes later waits for a place"),
    Choice(
        "COPSE_TURNS",
        "as many as cores, at most 4",
        "sessions that may compute at once; the others wait for their turn",
    ),
    Choice(
        "COPSE_MEMORY",
        "half of the machine's",
        "MiB that the tables of all sessions, and what is worked out of them, may take",
    ),
    Choice(
        "COPSE_SESSION_MEMORY",
        "as COPSE_MEMORY",
        "MiB that the table of one session, and what is worked out of it, may take",
    ),
    Choice("STREAMLIT_SERVER_MAX_UPLOAD_SIZE", "1000", "MiB of one file that is opened on the page"),
    Choice("FORWARDED_ALLOW_IPS", "127.0.0.1", "addresses of proxies whose word on who asks, and by TLS, is believed"),
)
"""In the order of the page that documents them."""
