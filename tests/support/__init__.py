"""What tests of several folders share: clients in one process, hostile servers, kits."""
