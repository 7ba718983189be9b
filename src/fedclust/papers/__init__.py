"""The papers, reproduced: experiments beside their published values, run by one harness."""
