import type { Command } from 'commander';
import { act, addPaging, declareCommand, wholeNumber } from '../declare.ts';
import { eventTypesHelp, typesIn } from './event-types.ts';
import { declareStreams } from './declare-streams.ts';

export function addWebhookCommands(program: Command): void {
  const webhooks = program.command('webhooks').summary('tell your programs what happens, over signed webhooks');
  declareCreate(webhooks);
  addPaging(
    declareCommand(webhooks, 'list', { summary: 'list endpoints, newest first', example: 'webhooks list' }),
  ).action(act(async (session, _, options) => (await import('./list.ts')).listWebhooks(session, options)));
  declareCommand(webhooks, 'get', {
    summary: 'show an endpoint',
    example: 'webhooks get wh_019a9c1e7d527c3a9a540b8f4c1f2e01',
  })
    .argument('<webhook>', 'its id (wh_…)')
    .action(act(async (session, [webhook = '']) => (await import('./get.ts')).getWebhook(session, webhook)));
  declareUpdate(webhooks);
  declareCommand(webhooks, 'delete', {
    summary: 'remove an endpoint and its events',
    example: 'webhooks delete wh_019a9c1e7d527c3a9a540b8f4c1f2e01',
  })
    .argument('<webhook>', 'its id (wh_…)')
    .action(act(async (session, [webhook = '']) => (await import('./delete.ts')).deleteWebhook(session, webhook)));
  declareCommand(webhooks, 'rotate-secret', {
    summary: 'give an endpoint a new signing secret',
    description:
      'Gives an endpoint a new signing secret and shows it once. Deliveries carry a signature of the old one too for 24 hours.',
    example: 'webhooks rotate-secret wh_019a9c1e7d527c3a9a540b8f4c1f2e01',
  })
    .argument('<webhook>', 'its id (wh_…)')
    .action(
      act(async (session, [webhook = '']) =>
        (await import('./rotate-secret.ts')).rotateWebhookSecret(session, webhook),
      ),
    );
  declareEventCommands(webhooks);
  declareStreams(webhooks);
}

function declareCreate(webhooks: Command): void {
  declareCommand(webhooks, 'create', {
    summary: 'add an endpoint',
    description: 'Adds an endpoint and shows its signing secret, this once. A connection to it is tried first.',
    example: 'webhooks create https://example.com/hooks --events email.delivered,email.bounced',
  })
    .argument('<url>', 'where events are sent to: https, on a public address')
    .requiredOption('--events <types>', 'the types of event to send, separated by commas', typesIn)
    .addHelpText('after', `\n${eventTypesHelp()}`)
    .showHelpAfterError(eventTypesHelp())
    .action(
      act(async (session, [url = ''], options) => (await import('./create.ts')).createWebhook(session, url, options)),
    );
}

function declareUpdate(webhooks: Command): void {
  declareCommand(webhooks, 'update', {
    summary: 'change, disable or enable an endpoint',
    description:
      'Changes what is named and leaves the rest as it is. What happens while an endpoint is disabled is parked; enabling it again sends new events only.',
    example: 'webhooks update wh_019a9c1e7d527c3a9a540b8f4c1f2e01 --status disabled',
  })
    .argument('<webhook>', 'its id (wh_…)')
    .option('--endpoint <url>', 'where events are sent to: https, on a public address')
    .option('--events <types>', 'the types of event to send, separated by commas, in place of those before', typesIn)
    .option('--status <status>', 'enabled or disabled')
    .addHelpText('after', `\n${eventTypesHelp()}`)
    .action(
      act(async (session, [webhook = ''], options) =>
        (await import('./update.ts')).updateWebhook(session, webhook, options),
      ),
    );
}

function declareEventCommands(webhooks: Command): void {
  const events = declareCommand(webhooks, 'events', {
    summary: 'list the events of an endpoint, newest first',
    example: 'webhooks events wh_019a9c1e7d527c3a9a540b8f4c1f2e01 --status failed',
  }).argument('<webhook>', 'the id of the endpoint (wh_…)');
  addPaging(events)
    .option('--status <status>', 'only those that are pending, attempting, success or failed')
    .option('--type <type>', 'only those of this type, such as email.bounced')
    .option('--start-date <time>', 'only those created at this ISO 8601 time or later')
    .option('--end-date <time>', 'only those created at this ISO 8601 time or earlier')
    .action(
      act(async (session, [webhook = ''], options) =>
        (await import('./events.ts')).listWebhookEvents(session, webhook, options),
      ),
    );
  declareCommand(webhooks, 'event', {
    summary: 'show an event and its payload',
    example: 'webhooks event wh_019a9c1e7d527c3a9a540b8f4c1f2e01 msg_019a9c1e7d527c3a9a540b8f4c1f2e04',
  })
    .argument('<webhook>', 'the id of the endpoint (wh_…)')
    .argument('<event>', 'the id of the event (msg_…)')
    .action(
      act(async (session, [webhook = '', event = '']) =>
        (await import('./event.ts')).getWebhookEvent(session, webhook, event),
      ),
    );
  const attempts = declareCommand(webhooks, 'attempts', {
    summary: 'list the attempts to deliver an event, newest first',
    example: 'webhooks attempts wh_019a9c1e7d527c3a9a540b8f4c1f2e01 msg_019a9c1e7d527c3a9a540b8f4c1f2e04',
  })
    .argument('<webhook>', 'the id of the endpoint (wh_…)')
    .argument('<event>', 'the id of the event (msg_…)');
  addPaging(attempts).action(
    act(async (session, [webhook = '', event = ''], options) =>
      (await import('./attempts.ts')).listWebhookAttempts(session, { webhook, event }, options),
    ),
  );
  declareCommand(webhooks, 'parked', {
    summary: 'list what happened while an endpoint was disabled, oldest first',
    description:
      'Lists what happened while an endpoint was disabled, and what was waiting for its next attempt then; oldest first. Send them with: rasket webhooks replay --parked',
    example: 'webhooks parked wh_019a9c1e7d527c3a9a540b8f4c1f2e01',
  })
    .argument('<webhook>', 'the id of the endpoint (wh_…)')
    .option('--limit <n>', 'how many to list, 1 to 100 (default: 20)', wholeNumber)
    .option('--after <id>', 'go on behind this one, towards younger ones')
    .option('--start-date <time>', 'only those created at this ISO 8601 time or later')
    .action(
      act(async (session, [webhook = ''], options) =>
        (await import('./parked.ts')).listParkedWebhookEvents(session, webhook, options),
      ),
    );
}
