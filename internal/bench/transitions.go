package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// transitions measures how many job applications a second enter a step whose helper exports them. Temporal is away;
// each answer says that transition and export are on disk.
func (b *bench) transitions(postgres bool) (result, error) {
	partner, at, err := newPartner()
	if err != nil {
		return result{}, err
	}
	defer partner.Close()
	s, err := b.serve(options{site: gatewaySite, postgres: postgres})
	if err != nil {
		return result{}, err
	}
	defer s.stop()
	m := managed{"http://" + s.address + "/manage/v1/tenants/initech"}
	if err := m.prepare("http://" + at + "/inbound"); err != nil {
		return result{}, err
	}
	headers := "Authorization: Bearer dev-key\r\n"
	// Every request moves its connection's application to the other one of two steps, both of which have a helper.
	ask := func(connection, n int) (string, []byte) {
		path := fmt.Sprintf("/manage/v1/tenants/initech/job-applications/a-%d/transitions", connection)
		return path, fmt.Appendf(nil, `{"step":"s-%d"}`, n%2)
	}
	return load(s.address, headers, ask, http.StatusCreated, b.during)
}

// managed is a part of the management API, by its address.
type managed struct{ base string }

// object is what the management API is sent, at a path.
type object map[string]any

type resource struct {
	path string
	body object
}

func (m managed) prepare(integration string) error {
	all := []resource{
		{"", object{"name": "Initech", "secrets": []string{}}},
		{"/integrations/hris", object{"url": integration, "secret": secret}},
		{"/steps", object{"items": []object{{"id": "s-0", "name": "Interview"}, {"id": "s-1", "name": "Offer"}}}},
		{"/steps/s-0/helper", object{"integrations": []string{}}},
		{"/steps/s-1/helper", object{"integrations": []string{}}},
		{"/jobs/NURSE-1", object{"id": "job-1", "title": "Registered Nurse", "customFields": []any{}}},
	}
	for n := range connections {
		ada := object{"name": object{"given": "Ada"}, "email": []string{fmt.Sprintf("ada-%d@example.org", n)}}
		all = append(all, resource{fmt.Sprint("/candidates/c-", n), ada},
			resource{fmt.Sprint("/job-applications/a-", n), object{"candidate": fmt.Sprint("c-", n), "jobBoardCode": "NURSE-1"}})
	}
	return m.put(all...)
}

func (m managed) put(all ...resource) error { return m.send(http.MethodPut, all) }

func (m managed) post(all ...resource) error { return m.send(http.MethodPost, all) }

func (m managed) send(method string, all []resource) error {
	for _, one := range all {
		if err := m.sendOne(method, one); err != nil {
			return err
		}
	}
	return nil
}

func (m managed) sendOne(method string, one resource) error {
	raw, err := json.Marshal(one.body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, m.base+one.path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer dev-key")
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		said, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("%s %s was answered %d: %s", method, one.path, answer.StatusCode, said)
	}
	return nil
}
