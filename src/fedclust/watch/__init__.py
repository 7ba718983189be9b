"""`fedclust watch`: one page that shows what a study does. It reads files, and writes none."""
