"""Who the signed-in person is to the API server, told to a page, to an ingress and to themselves."""
