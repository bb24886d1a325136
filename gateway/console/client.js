// Requests to the gateway that the page comes from.  A key is kept for as long as the tab is open.

const KEPT = 'dynamo_table key';
export const ENDPOINT = new URL('/', location.href).href;
let signer = null;

export class Refused extends Error {
  constructor(answer) {
    super(`${answer.type}: ${answer.message}`);
    this.type = answer.type;
    this.item = answer.item;
  }
}

// What keeps the page from signing, or null.
export function whyNoSignature() {
  return globalThis.crypto?.subtle ? null
    : `This page has come over plain http from ${location.host}. Browsers have their cryptography, by which requests are signed, `
      + 'on https and on localhost only. Open the console over https, or as localhost, for instance through ssh -L.';
}

export function keptKey() {
  return JSON.parse(sessionStorage.getItem(KEPT) ?? 'null');
}

// Sign with this key from now on; without one not at all.
export async function useKey(key) {
  if (key === null) {
    sessionStorage.removeItem(KEPT);
    signer = null;
    return;
  }
  const { AwsClient } = await import('./aws4fetch.js');
  signer = new AwsClient({ accessKeyId: key.id, secretAccessKey: key.secret, region: key.region, service: 'dynamodb' });
  sessionStorage.setItem(KEPT, JSON.stringify(key));
}

export const isSigning = () => signer !== null;

const OF_STREAMS = ['ListStreams', 'DescribeStream', 'GetShardIterator', 'GetRecords'];

// The answer to an operation.
export async function call(operation, request) {
  const service = OF_STREAMS.includes(operation) ? 'DynamoDBStreams' : 'DynamoDB';
  const init = { method: 'POST', body: JSON.stringify(request),
    headers: { 'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': `${service}_20120810.${operation}` } };
  let response;
  try {
    response = await fetch(signer === null ? new Request(ENDPOINT, init) : await signer.sign(ENDPOINT, init));
  } catch {
    throw new Refused({ type: 'NoAnswer', message: 'the gateway cannot be reached' });
  }
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  let error = {};
  try {
    error = JSON.parse(text);
  } catch {
    // it has no body, or one of something between
  }
  const type = (error.__type ?? `status ${response.status}`).replace(/.*#/, '');
  throw new Refused({ type, message: error.message ?? error.Message ?? '', item: error.Item });
}
