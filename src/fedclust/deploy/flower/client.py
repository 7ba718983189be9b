"""The app of a SuperNode. Flower loads it for every message, so it imports little."""

from ...channels.flower.client import client_app
from ...follow.endpoint import FollowingEndpoint

app = client_app(lambda folder, name, answered: FollowingEndpoint(folder, name, answered=answered))
