package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// transitions measures how many job applications a second enter a step whose helper exports them. Temporal is away; each answer
// says that transition and export are on disk.
func transitions(binary string, o options, during time.Duration) (result, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return result{}, err
	}
	defer l.Close()
	go http.Serve(l, &partner{seen: map[string]bool{}})
	o.site = gatewaySite
	s, err := serve(binary, o)
	if err != nil {
		return result{}, err
	}
	defer s.stop()
	m := managed{"http://" + s.address + "/manage/v1/tenants/initech"}
	if err := m.prepare("http://" + l.Addr().String() + "/inbound"); err != nil {
		return result{}, err
	}
	headers := "Authorization: Bearer dev-key\r\n"
	// Every request moves its connection's application to the other one of two steps, both of which have a helper.
	ask := func(connection, n int) (string, []byte) {
		return fmt.Sprintf("/manage/v1/tenants/initech/job-applications/a-%d/transitions", connection), fmt.Appendf(nil, `{"step":"s-%d"}`, n%2)
	}
	return load(s.address, headers, ask, http.StatusCreated, connections, during)
}

// managed is a tenant, as its management API's address.
type managed struct{ base string }

func (m managed) prepare(integration string) error {
	type object map[string]any
	for _, one := range []struct {
		path string
		body any
	}{
		{"", object{"name": "Initech", "secrets": []string{}}},
		{"/integrations/hris", object{"url": integration, "secret": secret}},
		{"/steps", object{"items": []object{{"id": "s-0", "name": "Interview"}, {"id": "s-1", "name": "Offer"}}}},
		{"/steps/s-0/helper", object{"integrations": []string{}}},
		{"/steps/s-1/helper", object{"integrations": []string{}}},
		{"/jobs/NURSE-1", object{"id": "job-1", "title": "Registered Nurse", "customFields": []any{}}},
	} {
		if err := m.put(one.path, one.body); err != nil {
			return err
		}
	}
	for n := range connections {
		err := m.put(fmt.Sprint("/candidates/c-", n), object{"name": object{"given": "Ada"}, "email": []string{fmt.Sprintf("ada-%d@example.org", n)}})
		if err != nil {
			return err
		}
		if err := m.put(fmt.Sprint("/job-applications/a-", n), object{"candidate": fmt.Sprint("c-", n), "jobBoardCode": "NURSE-1"}); err != nil {
			return err
		}
	}
	return nil
}

func (m managed) put(path string, body any) error { return m.send(http.MethodPut, path, body) }

func (m managed) post(path string, body any) error { return m.send(http.MethodPost, path, body) }

func (m managed) send(method, path string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, m.base+path, bytes.NewReader(raw))
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
		return fmt.Errorf("%s %s was answered %d: %s", method, path, answer.StatusCode, said)
	}
	return nil
}
