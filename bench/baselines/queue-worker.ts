// A worker that takes one job, says so, and never finishes it: to be killed.
import { openJobs } from '../../packages/server/src/jobs/jobs.ts'

const connection = JSON.parse(process.argv[2] ?? '{}')
const jobs = await openJobs(connection, (error) => console.error(error))
const take = async () => {
  process.stdout.write('taken\n')
  await new Promise(() => {})
}
await jobs.work({ 'process-session': take, 'give-up-session': take, 'remove-objects': take })
process.stdout.write('working\n')
