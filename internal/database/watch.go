package database

import "sync/atomic"

// Watched is told of the text of each statement, where it is set: a test asks for the plans of all that were run.
var Watched atomic.Pointer[func(statement string)]

func watch(q string) {
	if told := Watched.Load(); told != nil {
		(*told)(q)
	}
}
