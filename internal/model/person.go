package model

import "context"

// Person is somebody who signed in to the console.
type Person struct {
	ID     string // in logs and the audit; not an e-mail address
	Name   string // for the audit alone, and so is Email
	Email  string // verified by who signed them in; empty: it is not
	Tenant string // whose resources exist for them; empty: everybody's
	Role   Role   // what they may do
	// Answers: they see the text of answers to exports, which may repeat data of a candidate.
	Answers bool
	// Signatures: they see the signatures of requests to receivers, where those repeat them in an answer.
	Signatures bool
}

type personKey struct{}

// WithPerson returns a context of a request that a person makes.
func WithPerson(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

// PersonOf returns the person who makes a request; false: nobody is signed in.
func PersonOf(ctx context.Context) (Person, bool) {
	p, ok := ctx.Value(personKey{}).(Person)
	return p, ok
}
