"""The portal of analysts and the console of curators, as one web application."""
