"""The dashboard: `streamlit run app.py`. Every page is reached through ui/shell.py, deep links included."""

import streamlit as st

from ui.door.doors import require_doors
from ui.door.login import login
from ui.door.operator import ROUTES
from ui.server.layers import MIDDLEWARE, lifespan

require_doors()
people = login()
secrets = people.secrets() if people else None
app = st.App("ui/shell.py", secrets=secrets, routes=ROUTES, lifespan=lifespan, middleware=MIDDLEWARE)
