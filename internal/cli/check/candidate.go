package check

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
)

type object = map[string]any

func (r *receiver) id(kind string) object {
	return object{"value": "check-" + r.run + "-" + rand.Text(), "schemeId": r.names.SchemeID(kind),
		"schemeAgencyId": r.names.Service}
}

// person is the least that a candidate has, and more properties of the person.
func (r *receiver) person(more object) object {
	p := object{"id": r.id("Candidate")}
	for name, value := range more {
		p[name] = value
	}
	return object{"person": p}
}

// body is the body of an export, compact and with keys sorted: only the checks about raw bytes send another form.
func body(candidate object) []byte {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(object{"candidate": candidate}); err != nil {
		panic(err) // the checks have no value that JSON does not know
	}
	return []byte(strings.TrimSuffix(out.String(), "\n"))
}

func (r *receiver) minimal() []byte { return body(r.person(nil)) }

func (r *receiver) field(name, of, value string) object {
	return object{"id": r.id("Custom Field"), "name": name, "type": of, "value": value}
}

// full is an export with every field of the contract.
func (r *receiver) full() []byte {
	candidate := r.person(object{
		"name":   object{"formattedName": "Check Zoë Ødegård", "given": "Check Zoë", "family": "Ødegård"},
		"gender": "Female", "citizenShip": []string{"Authorized to work"}, "applyDate": "2026-10-02",
		"communication": object{
			"address": []object{{"countrySubdivisions": []object{{"type": "state", "value": "OR"}}, "city": "Portland",
				"postalCode": "97205", "line": "1120 SW 5th Ave", "formattedAddress": "1120 SW 5th Ave\nPortland, OR 97205"}},
			"phone": []object{{"formattedNumber": "+1 (503) 555-0142"}},
			"email": []object{{"address": "check@example.org"}},
			"web":   `<a href="https://check.example.org">check.example.org</a>`,
		},
		"customFields": []object{r.field("Preferred shift", "text", "Night"), r.field("Notice (weeks)", "number", "4")},
	})
	candidate["alternateIds"] = []object{r.id("Legacy Candidate")}
	candidate["profiles"] = []object{r.profile()}
	return body(candidate)
}

// profile is a job application with every field.
func (r *receiver) profile(attachments ...object) object {
	return object{
		"alternateIds": []object{r.id("Legacy Job Application")}, "languageCode": "en-US", "profileId": r.id("Job Application"),
		"associatedPositionOpenings": []object{{
			"alternateIds": []object{r.id("Legacy Job")}, "positionOpeningId": r.id("Job"), "positionTitle": "Nurse – Night",
			"positionUri":     "https://jobs.example.com/positions/check",
			"candidateStatus": object{"name": "Offer accepted", "category": "Hired", "transitionDateTime": "2026-11-12 16:04:59"},
			"customFields": []object{
				{"id": r.id("Start Date"), "name": "startDate", "type": "date", "value": "2026-12-07"},
				r.field("Cost centre", "text", "4411-07"),
			},
		}},
		"education":   []object{{"educationLevelCodes": []object{{"name": "Bachelor's degree"}}}},
		"attachments": append([]object{}, attachments...),
	}
}

// profiled is an export with job applications.
func (r *receiver) profiled(profiles ...object) []byte {
	c := r.person(nil)
	c["profiles"] = profiles
	return body(c)
}

// sparse has what may be absent as null or empty.
func (r *receiver) sparse() []byte {
	c := r.person(object{"name": nil, "gender": nil, "citizenShip": []string{}, "communication": object{}, "customFields": nil})
	c["alternateIds"], c["profiles"] = []object{}, []object{}
	return body(c)
}

func (r *receiver) extended() []byte { return body(r.person(object{"checkExtra": object{"a": 1}})) }

func (r *receiver) unlisted() []byte {
	return body(r.person(object{"gender": "Check Unlisted", "citizenShip": []string{"Check Unlisted"}}))
}

func (r *receiver) scripts() []byte {
	return body(r.person(object{"name": object{"given": "Check 𠮷𝒵", "family": "עדי"}}))
}

// The forms that a receiver changes when it writes the JSON again.

func (r *receiver) spaced() []byte {
	return []byte(strings.Replace(string(r.minimal()), `{"candidate":`, "{ \"candidate\" :\n\t", 1) + " ")
}

func (r *receiver) unsorted() []byte {
	return []byte(strings.Replace(string(r.minimal()), `{"person":`, `{"zCheck":"1","aCheck":"2","person":`, 1))
}

func (r *receiver) escaped() []byte {
	return []byte(strings.Replace(string(body(r.person(object{"name": object{"given": "Ren_"}}))), "_", `\u00e9`, 1))
}

func (r *receiver) numbers() []byte {
	return []byte(strings.Replace(string(r.minimal()), `{"person":`, `{"aCheck":[1.50,1E2,0.0],"person":`, 1))
}

// sized has a little less than so many bytes.
func (r *receiver) sized(most int) []byte {
	return body(r.person(object{"communication": object{"web": strings.Repeat("x", most-1<<10)}}))
}

const markup = "<script>check()</script>"

func (r *receiver) scripted() []byte {
	return body(r.person(object{"name": object{"given": "Check " + markup}, "communication": object{"web": markup}}))
}

// largest has a little less than the bytes that a receiver must take, in which all is that makes an export unusual.
func (r *receiver) largest() []byte {
	c := r.person(object{"name": object{"given": "Check " + markup}})
	c["profiles"] = []object{r.profile(r.attachments(fortyNames()...)...), r.profile()}
	web := strings.Repeat(markup, (r.most-len(body(c))-1<<10)/len(markup))
	c["person"].(object)["communication"] = object{"web": web}
	return body(c)
}

func fortyNames() (names []string) {
	for n := range 40 {
		names = append(names, fmt.Sprint("check-", n+1))
	}
	return names
}
