"""From groups to released cells, and files of them."""
