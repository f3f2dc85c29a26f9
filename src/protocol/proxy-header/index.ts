/**
 * The PROXY protocol, versions 1 and 2: what a proxy says in front of a connection about who made it. Reads headers,
 * writes none, and trusts no peer by itself: whether a header is asked for at all is decided by who listens.
 */
export { readProxyHeader, type ProxyHeader } from './read-proxy-header.ts';
