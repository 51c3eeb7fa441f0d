package manageapi

import "github.com/hiregate/hiregate/internal/model"

// Route is a route of the table, for tests.
type Route struct {
	Method, Path string
	Role         model.Role
	Personal     bool
	Action       string
}

// Routes are the table.
func Routes() (all []Route) {
	for _, r := range routes() {
		all = append(all, Route{r.method, r.path, r.role, r.personal, r.action})
	}
	return all
}
