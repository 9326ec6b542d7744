import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { objectsPath, objectsSource } from '../../../scripts/sdk-objects.ts'

test('the types of the SDK are those of the contract', () => {
  assert.equal(
    readFileSync(objectsPath, 'utf8'),
    objectsSource(),
    'the contract has changed; run: node scripts/sdk-objects.ts',
  )
})
