import { Button, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useOrganisation } from '../api/organisation.ts'
import { CodeBlock } from '../parts/copy.tsx'
import { Page } from '../parts/page.tsx'

/** A first upload and the way to the reference, with the address of this very service. */
export function ApiPage() {
  const { slug, mayWrite } = useOrganisation()
  const { origin } = location
  return (
    <Page
      title="API"
      lead="All that this console does with recordings, your programs can do too."
      actions={
        <Button component="a" href="/docs" variant="default">
          Open the reference
        </Button>
      }
    >
      <Stack gap="xl" maw={820}>
        <Step title="1. A key">
          <Text mb="xs">
            {mayWrite ? (
              <>
                <Link to="/o/$organisation/keys" params={{ organisation: slug }}>
                  Create a key
                </Link>{' '}
                and keep it in the environment:
              </>
            ) : (
              'Ask a member or an owner for a key, and keep it in the environment:'
            )}
          </Text>
          <CodeBlock
            label="environment"
            code={`export TAPEDECK_API_KEY=svc_live_…\nexport TAPEDECK_URL=${origin}`}
          />
        </Step>
        <Step title="2. A recording, from Node or the browser">
          <CodeBlock label="upload with the SDK" code={sdkExample(origin)} />
        </Step>
        <Step title="3. Or with nothing but curl">
          <CodeBlock label="create with curl" code={curlExample} />
        </Step>
        <Step title="4. What was found">
          <CodeBlock
            label="list with curl"
            code={`curl -s -H "Authorization: Bearer $TAPEDECK_API_KEY" "$TAPEDECK_URL/v1/sessions?limit=5"`}
          />
        </Step>
        <Text c="dimmed">
          The reference is at <a href="/docs">{origin}/docs</a>, as OpenAPI 3.1 at{' '}
          <a href="/v1/openapi.json">{origin}/v1/openapi.json</a>.
        </Text>
      </Stack>
    </Page>
  )
}

function Step({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section>
      <Title order={2} mb="xs">
        {title}
      </Title>
      {children}
    </section>
  )
}

function sdkExample(origin: string): string {
  return `import { Tapedeck } from '@tapedeck/sdk'

const tapedeck = new Tapedeck({ apiKey: process.env.TAPEDECK_API_KEY, baseUrl: '${origin}' })
const session = await tapedeck.sessions.upload('run_0042.mcap', { site: 'lab', device: 'amr-07' })
const done = await tapedeck.sessions.wait(session.id)
console.log(done.status, done.issues)`
}

const curlExample = `FILE=run_0042.mcap
curl -s -X POST $TAPEDECK_URL/v1/sessions \\
  -H "Authorization: Bearer $TAPEDECK_API_KEY" -H "Content-Type: application/json" \\
  -d "{\\"site\\": \\"lab\\", \\"filename\\": \\"$FILE\\", \\"bytes\\": $(wc -c < $FILE),
       \\"sha256\\": \\"$(sha256sum $FILE | cut -d' ' -f1)\\"}"
# then PUT each part to its URL, and complete: see the reference`
