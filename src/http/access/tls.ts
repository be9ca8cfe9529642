import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type Server } from "node:tls";
import { AppError, describe } from "../../lib/errors.js";
import { FileWatch } from "./fileWatch.js";

export interface TlsFiles {
  /** The certificate chain, in PEM. */
  readonly cert: string;
  /** The private key, in PEM. */
  readonly key: string;
}

/** For `https.createServer` and `setSecureContext`. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

/** A certificate or key that cannot be used. */
export class TlsUnusable extends AppError {
  readonly code = "tls_unusable";
}

/** Reads the certificate and the key, and checks that they match. An expired certificate is only reported: clients decide about it. */
export function loadTls(files: TlsFiles, report: (line: string) => void): TlsMaterial {
  const cert = readPem(files.cert, "certificate");
  const key = readPem(files.key, "key");
  const certificate = parseCertificate(cert, files.cert);
  if (!certificate.checkPrivateKey(parseKey(key, files.key)))
    throw new TlsUnusable(`the TLS key ${files.key} is not the key of the certificate ${files.cert}`);
  checkChain({ cert, key }, files.cert);
  if (Date.parse(certificate.validTo) < Date.now()) report(`the TLS certificate ${files.cert} has expired on ${certificate.validTo}`);
  return { cert, key };
}

/** Installs the new certificate when the files change, until closed. If the new one cannot be used, the old one stays. */
export function renewTls(server: Server, files: TlsFiles, report: (line: string) => void): { close(): void } {
  const changes = new FileWatch([files.cert, files.key]);
  changes.everySecond(() => {
    if (!changes.happened()) return;
    try {
      server.setSecureContext(loadTls(files, report));
      report(`read the TLS certificate ${files.cert} again`);
    } catch (error) {
      report(`the previous TLS certificate stays in use: ${describe(error)}`);
    }
  });
  return changes;
}

function readPem(file: string, what: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new TlsUnusable(`the TLS ${what} ${file} cannot be read: ${describe(error)}`, { cause: error });
  }
}

function parseCertificate(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new TlsUnusable(`there is no PEM certificate in ${file}`, { cause: error });
  }
}

function parseKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    const problem = /\bENCRYPTED\b/.test(pem) ? "is encrypted; it has to be without a passphrase" : "is not a PEM private key";
    throw new TlsUnusable(`the TLS key ${file} ${problem}`, { cause: error });
  }
}

/** Finds what the other checks miss, such as a broken second certificate or a weak key. */
function checkChain(material: TlsMaterial, file: string): void {
  try {
    createSecureContext(material);
  } catch (error) {
    throw new TlsUnusable(`the TLS certificate ${file} cannot be used: ${describe(error)}`, { cause: error });
  }
}
