import type { PostalAddress, TeamObject, UpdateTeamRequest } from '../../contract/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { getTeam } from './get-team.ts';
import { changeTeam, type TeamColumns } from './teams.store.ts';

/** Marketing mail has to say by whom and from where it comes, so a sender's name is nothing without an address. */
export async function updateTeam(ctx: Ctx, input: UpdateTeamRequest): Promise<TeamObject> {
  const { sender_name: name, postal_address: address, ai_assist_enabled: assist } = input;
  const change: TeamColumns = {};
  if (name !== undefined) change.sender_name = name.trim();
  if (address !== undefined) change.postal_address = JSON.stringify(readAddress(address));
  if (assist !== undefined) change.ai_assist_enabled = assist ? 1 : 0;
  const onlyWithAddress = name !== undefined && address === undefined;
  const isChanged = await changeTeam(ctx.store.db, ctx.teamId, change, { onlyWithAddress });
  if (!isChanged && onlyWithAddress) {
    throw refuse('validation_error', {
      status: 422,
      say: 'This team has no postal address yet; send postal_address together with sender_name.',
    });
  }
  return getTeam(ctx);
}

function readAddress(input: NonNullable<UpdateTeamRequest['postal_address']>): PostalAddress {
  return {
    line1: input.line1.trim(),
    line2: input.line2?.trim() ?? null,
    city: input.city.trim(),
    state: input.state?.trim() ?? null,
    postal_code: input.postal_code?.trim() ?? null,
    country: input.country,
  };
}
