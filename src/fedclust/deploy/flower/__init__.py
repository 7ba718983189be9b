"""Studies over Flower: the apps that it loads on either side, and the folder that names them."""
