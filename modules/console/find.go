package console

import (
	"net/http"
	"strings"
)

// find leads to what has an id or a name, which is sent in a form so that no address holds it.
func find(v *visitor) error {
	to, err := v.seek("", strings.TrimSpace(v.PostFormValue("q")))
	switch {
	case err != nil:
		return err
	case to != "":
		return v.redirect(to)
	}
	return v.page(http.StatusNotFound, "find", "NoSuchThing", nil)
}
