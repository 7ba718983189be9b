"""The app that Flower loads at a SuperNode, for every message anew: it imports little."""

from ...channels.flower.client import client_app
from ...client.session import Site

app = client_app(
    lambda folder, name, answered: Site(folder, name, answered=answered, one_message=True)
)
