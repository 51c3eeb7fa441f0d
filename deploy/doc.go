// Package deploy holds what docker-compose.yml mounts, and its tests. It exports nothing.
package deploy
