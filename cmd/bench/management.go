package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// post sends an object to a path of the server's management API, below /manage/v1.
func (s *server) post(path string, object map[string]any) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/manage/v1"+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	return s.manage(r)
}

// read reads a path of the server's management API, below /manage/v1.
func (s *server) read(path string) error {
	r, err := http.NewRequest(http.MethodGet, "http://"+s.address+"/manage/v1"+path, nil)
	if err != nil {
		return err
	}
	return s.manage(r)
}

// manage makes a request of an administrator to the management API. Any status but a 2xx is an error.
func (s *server) manage(r *http.Request) error {
	r.Header.Set("Authorization", "Bearer dev-key")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s was answered %d: %s", r.Method, r.URL.Path, answer.StatusCode, text)
	}
	return err
}
