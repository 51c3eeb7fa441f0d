package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// What the list of job applications has: so many, one of each candidate, for so many jobs.
const (
	appliedRows = 100_000
	appliedJobs = 500
)

// Names as people have them, so that words of a search are of many: each family name is of 2,000 candidates.
var (
	givenNames  = []string{"Zoë", "Kwame", "Mei-Ling", "Anna", "Jürgen", "Олена", "José", "Fatima", "Ivar", "Ada"}
	familyNames = []string{"Ødegård", "Asante", "Wu", "Müller", "Schmidt", "Шевченко", "García", "Nguyen", "O'Neill", "Lovelace"}
	appliedVia  = []string{"Job board", "Career site", "Referral"}
	appliedIn   = []string{"received", "interview", "offer", "hired"}
)

// applications measures the lists and searches of a tenant's job applications, candidates and jobs.
func (b *bench) applications() error {
	address, err := b.database(b.onPostgres, b.dir)
	if err != nil {
		return err
	}
	began := time.Now().UTC().Truncate(time.Second).Add(-appliedRows * time.Second)
	if err := fillApplications(address, began); err != nil {
		return err
	}
	s, err := b.serve(options{filled: address, site: "respond 404", tenants: tenant("t-0", "127.0.0.1:1/t-0", "")})
	if err != nil {
		return err
	}
	defer s.stop()
	since := began.Format(time.RFC3339)
	of := *b
	of.listed = appliedRows
	for _, one := range []struct{ name, list, query string }{
		{"the newest", "job-applications", ""},
		{"the newest with answers", "job-applications", "answers=true"},
		{"the newest, counted", "job-applications", "count=true"},
		{"the oldest, 500", "job-applications", "order=oldest&limit=500&since=" + since},
		{"changed", "job-applications", "updatedSince=" + since},
		{"of a job, open", "job-applications", "job=j-7&state=open"},
		{"rejected", "job-applications", "state=rejected"},
		{"of a step and a source", "job-applications", "step=offer&source=Referral"},
		{"of a source and an API user, of which there are few", "job-applications", "source=Job+board&apiUser=seldom@example.com"},
		{"of a source and a job that never fit", "job-applications", "source=Career+site&job=j-0&state=withdrawn&step=hired"},
		{"changed, of a job", "job-applications", "updatedSince=" + since + "&job=j-7"},
		{"candidates", "candidates", ""},
		{"candidates by the beginning of a name", "candidates", "name=zo"},
		{"candidates by two words of a name", "candidates", "name=" + url.QueryEscape("ada schm")},
		{"candidates by two words that never meet", "candidates", "name=" + url.QueryEscape("ada 99999x")},
		{"candidates by e-mail address", "candidates", "email=c-4711@example.com"},
		{"candidates by phone", "candidates", "phone=" + url.QueryEscape("030 4711")},
		{"jobs by state and text", "jobs", "state=open&q=nurse"},
	} {
		if err := of.timed("applications, "+one.name, readsOfPage, func() error {
			return s.read("/tenants/t-0/" + one.list + "?" + one.query)
		}); err != nil {
			return err
		}
	}
	return nil
}

// fillApplications stores a tenant's jobs, and candidates who applied for one each, one a second.
func fillApplications(address string, began time.Time) error {
	ctx := context.Background()
	db, err := store.Open(ctx, address, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	row := model.Row{Tenant: "t-0"}
	err = db.Write(ctx, func(tx *store.Tx) error {
		for n := range appliedJobs {
			if err := tx.UpsertJob(&model.Job{Row: row, BoardCode: fmt.Sprint("j-", n), ID: fmt.Sprint("id-", n), Closed: n%3 == 0,
				Title: []string{"Ward nurse", "Cook", "Driver"}[n%3] + fmt.Sprint(" ", n)}, began); err != nil {
				return err
			}
		}
		return nil
	})
	for from := 0; from < appliedRows && err == nil; from += fillBatch {
		err = db.Write(ctx, func(tx *store.Tx) error {
			for n := from; n < from+fillBatch; n++ {
				if err := apply(tx, row, n, began.Add(time.Duration(n)*time.Second)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return err
}

// apply stores a candidate and their job application.
func apply(tx *store.Tx, row model.Row, n int, at time.Time) error {
	c := &model.Candidate{Row: row, ID: fmt.Sprint("c-", n), Email: []string{fmt.Sprintf("c-%d@example.com", n)},
		Phone: []string{fmt.Sprintf("+49 30 %d", n)},
		Name:  model.Name{Given: givenNames[n%10], Family: familyNames[n/10%10] + fmt.Sprint("-", n)}}
	c.Name.Formatted = model.FormattedName(c.Name.Given, c.Name.Family)
	if err := tx.UpsertCandidate(c, at); err != nil {
		return err
	}
	step := appliedIn[n%4]
	a := &model.JobApplication{Row: row, ID: fmt.Sprint("a-", n), Candidate: c.ID, Job: fmt.Sprint("j-", n%appliedJobs), LanguageCode: "en-US",
		Status: model.Status{Step: step, Name: step, EnteredAt: at}}
	if n%3 == 1 {
		a.Ended = &model.End{As: model.Rejected, At: at}
	}
	if err := tx.UpsertJobApplication(a, at); err != nil {
		return err
	}
	sent := &model.ApplicationAnswers{Source: appliedVia[n%3], APIUser: "board@example.com", Answers: []model.Given{
		{Question: "shift", Label: "Shift", Format: "Select", Values: []string{"Night"}},
		{Question: "why", Label: "Why", Format: "Textarea", Values: []string{"I have worked in a ward for ten years, and like it."}}}}
	if n%50_000 == 0 {
		sent.APIUser = "seldom@example.com"
	}
	return tx.InsertApplicationAnswers(row.Tenant, a.ID, sent)
}
