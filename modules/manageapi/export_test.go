package manageapi

// Routes is the table, for tests.
var Routes = routes
