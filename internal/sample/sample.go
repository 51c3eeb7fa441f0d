// Package sample holds what hiregate dev fills its tenant initech with, and the export that tests an integration. Every
// person and number in it is invented.
package sample

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/hiregate/hiregate/internal/model"
)

//go:embed initech.json documents
var files embed.FS

// Data is a tenant's sample data.
type Data struct {
	Tenant       string                 `json:"tenant"`
	Jobs         []model.Job            `json:"jobs"`
	Steps        []model.Step           `json:"steps"` // in their order
	Helpers      []Helper               `json:"helpers"`
	Candidates   []model.Candidate      `json:"candidates"`
	Applications []model.JobApplication `json:"applications"`
	Entered      []Entered              `json:"entered"`
	Partners     []Partner              `json:"partners"`
	Documents    []Document             `json:"documents"`
}

// Partner is a user of the Apply API.
type Partner struct {
	UserName string `json:"userName"`
	Password string `json:"password"`
}

// Helper is the workflow helper of a step.
type Helper struct {
	Step         string   `json:"step"`
	Integrations []string `json:"integrations"`
}

// Entered is the step that a job application has entered.
type Entered struct {
	Application string `json:"application"`
	Step        string `json:"step"`
}

// Document is a document of a job application.
type Document struct {
	Application string `json:"application"`
	ID          string `json:"id"`
	Description string `json:"description"`
	File        string `json:"file"`
	MediaType   string `json:"mediaType"`
}

// Content is the document's file.
func (d Document) Content() ([]byte, error) { return files.ReadFile("documents/" + d.File) }

// Load reads the sample data.
func Load() (*Data, error) {
	raw, err := files.ReadFile("initech.json")
	if err != nil {
		return nil, err
	}
	d := new(Data)
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("reading the sample data: %w", err)
	}
	return d, nil
}
