"""The dashboard: `streamlit run app.py`. Every page is reached through ui/shell.py, deep links included."""

import streamlit as st

from ui.server.layers import MIDDLEWARE, lifespan

app = st.App("ui/shell.py", lifespan=lifespan, middleware=MIDDLEWARE)
