"""The app that Flower loads at a SuperNode, for every message anew: it imports little."""

from ...channels.flower.client import client_app
from ...client.endpoint import ClientEndpoint

app = client_app(
    lambda folder, name, answered: ClientEndpoint(folder, name, answered=answered, one_message=True)
)
