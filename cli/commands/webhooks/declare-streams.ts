import type { Command } from 'commander';
import { describeNames } from '../../families/named.ts';
import { eventTypes } from '../../families/webhooks.ts';
import { act, declareCommand } from '../declare.ts';
import { addFlags } from '../declare-family.ts';

/** Declares `listen` and `replay`, which run for a while. */
export function declareStreams(webhooks: Command): void {
  const listen = declareCommand(webhooks, 'listen', {
    summary: 'receive events on this machine, without a public address',
    description:
      'Stream the team’s events and post each one to an address of your choice, signed like a webhook, with a secret that is shown at the start and used only by this command. Each event is posted once: if your program does not accept it, it is not sent again and cannot be replayed. The command runs until Ctrl-C. With --json, it prints each event as received.',
    example: 'webhooks listen --forward-to http://localhost:8080/hook --events email.delivered,email.bounced',
  })
    .option('--forward-to <url>', 'post events to this address; without it, they are only printed')
    .action(act(async (session, _, options) => (await import('./listen.ts')).listenWebhooks(session, options)));
  addFlags(listen, {
    events: { ...eventTypes, says: 'only events of these types, separated by commas (default: all)' },
  });
  declareCommand(webhooks, 'replay', {
    summary: 'send an event again, or all failed or parked events',
    description:
      'Resend one event, with the same id and body. With --failed or --parked, resend all failed events, or all events that were parked because their endpoint was disabled, oldest first; events of an endpoint that is still disabled are left out. A team may replay ten events a minute, so many events take a while.',
    example: 'webhooks replay --failed --parked --since 2h',
  })
    .argument('[webhook]', describeNames('webhook_id', false))
    .argument('[event]', describeNames('event_id', false))
    .option('--failed', 'replay all events whose ten attempts failed')
    .option('--parked', 'replay all events that happened or were waiting while their endpoint was disabled')
    .option(
      '--since <time>',
      'only those since 30m, 2h or 7d ago, or since an ISO 8601 time (default: 24h for failed events, no limit for parked ones)',
    )
    .option('--webhook <endpoint>', 'only those of this endpoint')
    .option('--dry-run', 'show the events and do not send them')
    .action(
      act(async (session, words, options) => (await import('./replay.ts')).replayEvents(session, words, options)),
    );
}
