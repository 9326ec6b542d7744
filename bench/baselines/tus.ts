// The same uploads to @tus/server with its file store: a create and a PATCH for each part. It neither hashes nor syncs.
import { createServer } from 'node:http'
import { FileStore } from '@tus/file-store'
import { Server } from '@tus/server'
import { announce } from './announce.ts'

const tus = new Server({ path: '/files', datastore: new FileStore({ directory: process.argv[2] ?? '' }) })
announce(createServer((request, response) => void tus.handle(request, response)))
