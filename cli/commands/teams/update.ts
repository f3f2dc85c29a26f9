import type { UpdateTeamRequest } from '../../../src/contract/index.ts';
import { teams } from '../../families/teams.ts';
import { CliFault, formatItem, shownFields } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export interface UpdateTeamOptions {
  senderName?: string;
  line1?: string;
  line2?: string;
  city?: string;
  state?: string;
  postalCode?: string;
  country?: string;
  aiAssist?: boolean;
}

export async function updateTeam({ client, terminal, isJson }: Session, options: UpdateTeamOptions): Promise<void> {
  const body = readChange(options);
  if (Object.keys(body).length === 0) {
    throw new CliFault('name at least one thing to change. See them with: rasket team update --help', 'usage');
  }
  const team = await client.call('updateTeam', { body });
  if (isJson) return terminal.printJson(team);
  terminal.print(formatItem(terminal, shownFields(teams.get.fields), team));
}

/** An address is sent as far as it was given: the server says what is missing. */
function readChange(options: UpdateTeamOptions): UpdateTeamRequest {
  const { senderName, aiAssist, line1, line2, city, state, postalCode, country } = options;
  const parts = { line1, line2, city, state, postal_code: postalCode, country };
  const given = Object.entries(parts).filter(([, value]) => value !== undefined);
  return {
    ...(senderName === undefined ? {} : { sender_name: senderName }),
    ...(given.length === 0
      ? {}
      : { postal_address: Object.fromEntries(given) as unknown as UpdateTeamRequest['postal_address'] }),
    ...(aiAssist === undefined ? {} : { ai_assist_enabled: aiAssist }),
  } as UpdateTeamRequest;
}
