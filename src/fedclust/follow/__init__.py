"""Followed studies: clients take the steps of a study themselves, and answer nothing else.

Everything that the server does is a function of the study file and of replies. A client that
follows a study computes the next request itself, answers that one only, and continues from the
replies of all clients, which the server relays and the clients have sealed. The server chooses no
plan, centre, bound, grid, seed or cohort.
"""
