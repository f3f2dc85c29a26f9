import { verifySsoDomain } from '../features/identity/sso-sign-in/index.ts';
import {
  addSsoDomain,
  deleteSso,
  getSso,
  putSso,
  removeSsoDomain,
  unlinkTeamMember,
} from '../features/identity/sso/index.ts';
import type { Operations } from './operation.ts';

export const sso = {
  getSso: (ctx, { path }) => getSso(ctx, path.team_id),
  putSso: (ctx, { path, body }) => putSso(ctx, path.team_id, body),
  deleteSso: (ctx, { path }) => deleteSso(ctx, path.team_id),
  addSsoDomain: (ctx, { path, body }) => addSsoDomain(ctx, path.team_id, body),
  removeSsoDomain: (ctx, { path }) => removeSsoDomain(ctx, { teamId: path.team_id, domain: path.domain }),
  verifySsoDomain: (ctx, { path }) =>
    verifySsoDomain(ctx, { teamId: path.team_id, domain: path.domain, unaudited: ctx.services.world }),
  unlinkTeamMember: (ctx, { path }) => unlinkTeamMember(ctx, { teamId: path.team_id, memberId: path.member_id }),
} satisfies Partial<Operations>;
