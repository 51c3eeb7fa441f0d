// Package documents handles the files of candidates: it stores them in a folder (Files) with rows in the database
// (Archive), reads and writes the contract's Document object (DecodeObject, EncodeObject), fetches documents from
// public URLs (Fetch) and serves them under ours (NewToken, Serve). It never holds a whole document in memory.
package documents
