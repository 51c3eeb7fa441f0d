package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/hiregate/hiregate/internal/api"
)

func profileOf(form url.Values) api.UserProfile {
	return api.UserProfile{Email: form.Get("email"), EmailVerified: form.Get("verified") != "", Name: form.Get("name"),
		GivenName: form.Get("given"), FamilyName: form.Get("family"), Groups: linesOf(form.Get("groups"))}
}

// changeAtSignIn asks for a password that is made, which its owner replaces at the next sign-in if the form says so.
func changeAtSignIn(form url.Values) (in api.UserPasswordInput) {
	in.MustChange = form.Get("change") != ""
	return in
}

// peoplePage is the template data of the people. A form that was refused keeps what was filled in.
type peoplePage struct {
	api.List[api.User]
	More   string
	Form   api.UserProfile
	Wrong  *failure // nil: no form was refused
	Sought bool     // nobody has the address that was sought
}

// listPeople shows the people who sign in.
func listPeople(v *visitor) error { return v.renderPeople(http.StatusOK, new(peoplePage)) }

func (v *visitor) renderPeople(status int, shown *peoplePage) (err error) {
	if shown.More, err = pageOf(v, "/v1/users", url.Values{"limit": {"100"}}, &shown.List); err != nil {
		return err
	}
	return v.page(status, "people", "People", shown)
}

// addPerson makes a user, and shows once the password that was made for them.
func addPerson(v *visitor) error {
	form := profileOf(v.PostForm)
	var made api.User
	in := api.UserInput{UserProfile: form, UserPasswordInput: changeAtSignIn(v.PostForm)}
	switch refused, err := refusal(v.post("/v1/users", in, &made)); {
	case err != nil:
		return err
	case refused != nil:
		return v.renderPeople(refused.status, &peoplePage{Form: form, Wrong: refused})
	}
	return v.renderPerson(http.StatusOK, personPage{Secret: made.Password}, made.ID)
}

// findPerson leads to the person with an e-mail address, which stands in no address of a page.
func findPerson(v *visitor) error {
	var found api.List[api.User]
	if err := v.get("/v1/users", url.Values{"email": {v.PostForm.Get("email")}}, &found); err != nil {
		return err
	}
	if len(found.Items) == 0 {
		return v.renderPeople(http.StatusNotFound, &peoplePage{Sought: true})
	}
	return v.redirect(pathOf("people", found.Items[0].ID))
}

// personPage is the template data of a person, with a password that was just made.
type personPage struct {
	Person   api.User
	Own      bool // it is the visitor's own account, which they don't change
	Accounts api.List[api.UpstreamAccount]
	Sessions api.List[api.UserSession]
	Form     api.UserProfile
	Secret   string   // a password, or a recovery link, that is shown this once
	Wrong    *failure // why the form was refused; nil: it was not
}

// showPerson shows a person who signs in.
func showPerson(v *visitor) error {
	return v.renderPerson(http.StatusOK, personPage{}, v.PathValue("id"))
}

// renderPerson shows a person. The form has the person's profile, unless it was refused.
func (v *visitor) renderPerson(status int, shown personPage, id string) error {
	if err := v.get(at("users", id), nil, &shown.Person); err != nil {
		return err
	}
	if err := v.get(at("users", id, "upstream-accounts"), nil, &shown.Accounts); err != nil {
		return err
	}
	if err := v.get(at("users", id, "sessions"), nil, &shown.Sessions); err != nil {
		return err
	}
	shown.Own = v.owns(id, shown.Accounts.Items)
	if shown.Wrong == nil {
		shown.Form = shown.Person.UserProfile
	}
	return v.page(status, "person", "Person", &shown)
}

// owns reports whether a user, with accounts at other providers, is the visitor.
func (v *visitor) owns(id string, accounts []api.UpstreamAccount) bool {
	return v.user != "" && id == v.user || slices.ContainsFunc(accounts, func(a api.UpstreamAccount) bool {
		return a.Issuer == v.issuer && a.Subject == v.subject
	})
}

// others refuses to change the visitor's own account: who is to be kept out must not let themselves in again, and
// nobody loses their role by a slip.
func (v *visitor) others(id string) error {
	var accounts api.List[api.UpstreamAccount]
	if err := v.get(at("users", id, "upstream-accounts"), nil, &accounts); err != nil {
		return err
	}
	if v.owns(id, accounts.Items) {
		return errOwnAccount
	}
	return nil
}

// editPerson changes a person's address and names.
func editPerson(v *visitor) error {
	form, id := profileOf(v.PostForm), v.PathValue("id")
	if err := v.others(id); err != nil {
		return err
	}
	switch refused, err := refusal(v.call(http.MethodPut, at("users", id), nil, form, nil)); {
	case err != nil:
		return err
	case refused != nil:
		return v.renderPerson(refused.status, personPage{Form: form, Wrong: refused}, id)
	}
	return v.redirect(pathOf("people", id) + "?done=saved")
}

// actOnPerson disables or enables a person, gives them another password, a recovery link or a second factor, ends their sessions, or unlinks
// their accounts at other providers.
func actOnPerson(v *visitor) error {
	id, action := v.PathValue("id"), v.PathValue("action")
	user := at("users", id)
	if err := v.others(id); err != nil {
		return err
	}
	var err error
	switch action {
	case "reset":
		var made api.User
		if err := v.post(user+"/reset", changeAtSignIn(v.PostForm), &made); err != nil {
			return err
		}
		return v.renderPerson(http.StatusOK, personPage{Secret: made.Password}, id)
	case "recovery":
		var made api.Recovery
		if err := v.post(user+"/recovery", api.RecoveryInput{ResetTOTP: v.PostForm.Get("totp") != ""}, &made); err != nil {
			return err
		}
		return v.renderPerson(http.StatusOK, personPage{Secret: made.URL}, id)
	case "enable", "totp":
		err = v.post(user+"/"+action, nil, nil)
	case "disable":
		err = v.call(http.MethodDelete, user, nil, nil, nil)
	case "end-totp":
		err = v.call(http.MethodDelete, user+"/totp", nil, nil, nil)
	case "end-sessions":
		err = v.call(http.MethodDelete, user+"/sessions", nil, nil, nil)
	case "unlink":
		err = v.call(http.MethodDelete, user+"/upstream-accounts", nil, nil, nil)
	default:
		err = errNotFound
	}
	if err != nil {
		return err
	}
	return v.redirect(pathOf("people", id) + "?done=person_" + action)
}

// refusal returns what the management API found wrong with a form, or that it can't save it now, for the page to show
// beside it. Other errors remain.
func refusal(err error) (*failure, error) {
	if f := new(failure); errors.As(err, &f) && f.Detail != "" &&
		(f.status < http.StatusInternalServerError || f.status == http.StatusServiceUnavailable) {
		return f, nil
	}
	return nil, err
}
