import type { EmailStatus } from '../../../src/contract/index.ts';
import type { Style } from '../../output/index.ts';

/** Green is done, yellow is on its way with trouble, red will not arrive. */
export function styleOf(state: EmailStatus): Style {
  switch (state) {
    case 'delivered':
    case 'opened':
    case 'clicked':
      return 'green';
    case 'delivery_delayed':
    case 'complained':
      return 'yellow';
    case 'bounced':
    case 'failed':
    case 'suppressed':
    case 'canceled':
      return 'red';
    case 'queued':
    case 'scheduled':
    case 'sent':
      return 'plain';
  }
}
