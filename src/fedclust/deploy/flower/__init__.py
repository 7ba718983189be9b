"""Studies over Flower: the server and client apps, and the app folder that names them."""
