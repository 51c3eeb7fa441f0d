package api

import (
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// Event says what changed, in lists of events and as the body of a webhook. It has ids only.
type Event struct {
	ID        string       `json:"id"` // the webhook-id as well
	Type      model.Change `json:"type"`
	Timestamp time.Time    `json:"timestamp"`
	Data      EventData    `json:"data"`
}

// EventData says where something changed.
type EventData struct {
	Tenant      string `json:"tenant" schema:"ref=ShortName"`
	Application string `json:"jobApplication,omitempty" schema:"ref=Id"`
	// among the events of the job application, from 1: a receiver drops one that is not above the last it has
	Sequence  int64  `json:"sequence,omitempty"`
	From      string `json:"from,omitempty"` // the step that it left; absent: it was in none
	To        string `json:"to,omitempty"`   // the step that it entered; absent: it is in none
	Candidate string `json:"candidate,omitempty" schema:"ref=Id"`
	Job       string `json:"jobBoardCode,omitempty" schema:"ref=Id"`
}

// EventOf returns an event as it is shown and sent.
func EventOf(e *model.ChangeEvent) Event {
	d := EventData{Tenant: e.Tenant}
	switch {
	case e.Type.OfApplication():
		d.Application, d.Sequence, d.From, d.To = e.Object, e.Sequence, e.From, e.To
	case e.Type == model.JobChanged:
		d.Job = e.Object
	default:
		d.Candidate = e.Object
	}
	return Event{ID: fmt.Sprintf("evt_%s_%d", e.Tenant, e.Position), Type: e.Type, Timestamp: e.At, Data: d}
}

// EventList is a page of events, the oldest first.
type EventList struct {
	Items  []Event `json:"items"`
	Next   *string `json:"next"`   // the cursor of the next page; null on the last one
	Resume string  `json:"resume"` // a cursor for later: with it, what comes after this page is listed
}

// EventSubscription is an address of a service's own system that is sent what changes.
type EventSubscription struct {
	ID           string         `json:"id" schema:"ref=ShortName"`
	Tenant       string         `json:"tenant" schema:"ref=ShortName"`
	Version      int64          `json:"version"`
	CreatedAt    time.Time      `json:"createdAt"`
	UpdatedAt    time.Time      `json:"updatedAt"`
	Host         string         `json:"host"`   // of the URL; the rest of it may be a credential
	Events       []model.Change `json:"events"` // empty: all
	Disabled     bool           `json:"disabled"`
	Reason       string         `json:"reason,omitempty"`      // why it is disabled; absent: somebody asked for it
	FailingSince time.Time      `json:"failingSince,omitzero"` // when the first of the attempts at the next event failed
}

// EventSubscriptionInput makes or changes a subscription. What is left out stays as it is.
type EventSubscriptionInput struct {
	URL      *string         `json:"url,omitempty"`
	Secret   *string         `json:"secret,omitempty"` // signs the events (Standard Webhooks); 16 bytes at least
	Events   *[]model.Change `json:"events,omitempty"` // empty: all
	Disabled *bool           `json:"disabled,omitempty"`
}
